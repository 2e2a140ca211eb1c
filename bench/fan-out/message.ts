/** The time of sending, to be read at a fixed place: microseconds of a clock that all processes of the machine share. */
const HEAD = '{"jsonrpc":"2.0","method":"notification.message","params":{"timestamp":';
const DIGITS = 16;
const TAIL = `,"text":"${'n'.repeat(120)}"}}`;

export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

export function messageOf(sentAt: number): string {
  // A number may not begin with zeros, and the clock of a machine that has run for years has as many digits as this adds.
  return HEAD + (sentAt + 10 ** (DIGITS - 1)) + TAIL;
}

/** When a message was sent that stands in `bytes` from `at` on. */
export function sentAtOf(bytes: Buffer, at: number): number {
  return Number(bytes.toString('latin1', at + HEAD.length, at + HEAD.length + DIGITS)) - 10 ** (DIGITS - 1);
}

export function isMessage(bytes: Buffer, at: number): boolean {
  return bytes[at + 18] === HEAD.charCodeAt(18) && bytes[at + 27] === HEAD.charCodeAt(27);
}
