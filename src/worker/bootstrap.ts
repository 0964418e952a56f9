/** The main module of every pool worker: loads the user's script and runs the tasks that the host sends. */
import { boot } from './guest.ts'

boot()
