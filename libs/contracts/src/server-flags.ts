/**
 * How Node runs a process of the product, whoever starts it.
 * - V8 lets a heap grow to four times what is in use before it looks for what is garbage. Twice is enough here; what less would gain
 *   in memory is paid for by turns (docs/reliability.md).
 * - V8 makes objects in the old generation at places whose objects lived long when it compiled them. What outlives a collection while a
 *   call is under way is dead a moment later: with this guess calls over WebSockets took a fifth more, in two starts of three.
 * - A process may ask for one collection: after its start, for what that left behind.
 */
const COMMON = ['--heap-growing-percent=100', '--no-allocation-site-pretenuring', '--expose-gc', '--disable-warning=ExperimentalWarning'];

/** With this a process exits that is to be started again, and may not do so itself. Others know it as EX_TEMPFAIL. */
export const RESTART_CODE = 75;

/** A quarter of what Node would give the young generation: ten thousand idle connections leave it no larger, at no cost that could be measured. */
export const SERVER_FLAGS: readonly string[] = ['--max-semi-space-size=8', ...COMMON];

/**
 * For everything in one process. What waits there for a slot would not have ended before the young generation is full, and be copied
 * twice: of 128 clients that share four slots, twice the room answers one in fourteen more.
 */
export const EMBEDDED_FLAGS: readonly string[] = ['--max-semi-space-size=32', ...COMMON];
