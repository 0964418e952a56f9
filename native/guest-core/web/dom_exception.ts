import { defineConstants, expose, toText } from './webidl.ts'

/** Legacy codes by name. https://webidl.spec.whatwg.org/#dfn-error-names-table */
const CODES: Readonly<Record<string, number>> = {
  IndexSizeError: 1,
  HierarchyRequestError: 3,
  WrongDocumentError: 4,
  InvalidCharacterError: 5,
  NoModificationAllowedError: 7,
  NotFoundError: 8,
  NotSupportedError: 9,
  InUseAttributeError: 10,
  InvalidStateError: 11,
  SyntaxError: 12,
  InvalidModificationError: 13,
  NamespaceError: 14,
  InvalidAccessError: 15,
  TypeMismatchError: 17,
  SecurityError: 18,
  NetworkError: 19,
  AbortError: 20,
  URLMismatchError: 21,
  QuotaExceededError: 22,
  TimeoutError: 23,
  InvalidNodeTypeError: 24,
  DataCloneError: 25,
}

const CONSTANTS = [
  ...['INDEX_SIZE_ERR', 'DOMSTRING_SIZE_ERR', 'HIERARCHY_REQUEST_ERR', 'WRONG_DOCUMENT_ERR'],
  ...['INVALID_CHARACTER_ERR', 'NO_DATA_ALLOWED_ERR', 'NO_MODIFICATION_ALLOWED_ERR', 'NOT_FOUND_ERR'],
  ...['NOT_SUPPORTED_ERR', 'INUSE_ATTRIBUTE_ERR', 'INVALID_STATE_ERR', 'SYNTAX_ERR'],
  ...['INVALID_MODIFICATION_ERR', 'NAMESPACE_ERR', 'INVALID_ACCESS_ERR', 'VALIDATION_ERR'],
  ...['TYPE_MISMATCH_ERR', 'SECURITY_ERR', 'NETWORK_ERR', 'ABORT_ERR', 'URL_MISMATCH_ERR'],
  ...['QUOTA_EXCEEDED_ERR', 'TIMEOUT_ERR', 'INVALID_NODE_TYPE_ERR', 'DATA_CLONE_ERR'],
]

/** The error of Web APIs; it tells what went wrong by its name. */
export class DOMException extends Error {
  readonly #name: string
  readonly #message: string

  constructor(message: unknown = '', options: unknown = 'Error') {
    super()
    this.#message = toText(message)
    if (options !== null && typeof options === 'object') {
      const { name, cause } = options as { name?: unknown; cause?: unknown }
      this.#name = name === undefined ? 'Error' : toText(name)
      if ('cause' in options) {
        Object.defineProperty(this, 'cause', { value: cause, writable: true, configurable: true })
      }
    } else this.#name = toText(options)
  }

  // @ts-ignore: `name` is a property of Error's type, and an accessor here by the standard
  override get name(): string {
    return this.#name
  }

  // @ts-ignore: as `name`
  override get message(): string {
    return this.#message
  }

  get code(): number {
    return CODES[this.#name] ?? 0
  }
}

expose(DOMException, 'DOMException')
defineConstants(DOMException, Object.fromEntries(CONSTANTS.map((name, index) => [name, index + 1])))
