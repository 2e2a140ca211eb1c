const SECOND_MS = 1_000;

let text = '';
let until = 0;

/** The time as the header `Date` has it, made once a second. */
export function httpDate(): string {
  const now = Date.now();
  if (now >= until || now < until - SECOND_MS) {
    text = new Date(now).toUTCString();
    until = now - (now % SECOND_MS) + SECOND_MS;
  }
  return text;
}
