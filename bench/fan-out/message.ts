/** The send time is at a fixed offset, in microseconds of the system clock that all processes share. */
const HEAD = '{"jsonrpc":"2.0","method":"notification.message","params":{"timestamp":';
const DIGITS = 16;
const TAIL = `,"text":"${'n'.repeat(120)}"}}`;

export function now(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

export function formatMessage(sentAt: number): string {
  // A JSON number must not begin with zeros, so an offset keeps the number of digits constant.
  return HEAD + (sentAt + 10 ** (DIGITS - 1)) + TAIL;
}

/** Reads the send time of the message at offset `at`. */
export function readSentAt(bytes: Buffer, at: number): number {
  return Number(bytes.toString('latin1', at + HEAD.length, at + HEAD.length + DIGITS)) - 10 ** (DIGITS - 1);
}

export function isMessage(bytes: Buffer, at: number): boolean {
  return bytes[at + 18] === HEAD.charCodeAt(18) && bytes[at + 27] === HEAD.charCodeAt(27);
}
