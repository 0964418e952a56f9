/** What was read of sources before: the same source gives the same again, and need not be parsed. */
export interface Readings {
  /**
   * What `read` gave for this source, or gives now. `kind` tells apart what is read of one source; `path` gives the language by its
   * extension. What JSON does not hold is read each time. Rejects as `read` does.
   */
  of<T>(kind: string, path: string, source: string, read: () => Promise<T>): Promise<T>
}

/** Reads each time. */
export const NO_READINGS: Readings = { of: (_kind, _path, _source, read) => read() }
