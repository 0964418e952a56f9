/**
 * The isolated routes of an app, as the rest of `src/app` sees them. Requests find their handler by file and method in what the machines
 * run now, so a route table may be swapped before the program of a changed file has booted: until then the old program answers. Programs
 * come into service one by one; a request for one that is not there yet brings it to the front.
 */
export { toIsolatedHandler, waitedForStart } from './handler.ts'
export { closeIsolated, newIsolatedRoutes, openReadings, openRecorder } from './lifecycle.ts'
export { openSharedMachines, runsInWorkers, setIsolatedTable, startIsolated } from './programs.ts'
