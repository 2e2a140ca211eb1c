import fc from 'fast-check';

/** Whether JSON.parse accepts the text. */
export function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Small changes to a text: characters replaced by one of the pieces. */
export function damage(pieces: readonly string[]): fc.Arbitrary<(text: string) => string> {
  const edit = fc.record({ at: fc.nat(), drop: fc.nat({ max: 3 }), put: fc.constantFrom(...pieces) });
  return fc.array(edit, { minLength: 1, maxLength: 3 }).map((edits) => (text: string) => {
    let now = text;
    for (const { at, drop, put } of edits) {
      const index = at % (now.length + 1);
      now = now.slice(0, index) + put + now.slice(index + drop);
    }
    return now;
  });
}
