/** The pool's work: sums of square roots, enough of them to be felt. */
import { defineWorker } from '@mayfly/mayfly'
import { sumOfRoots } from '../_lib/cpu.ts'

export default defineWorker(({ terms }: { terms: number }) => sumOfRoots(terms))
