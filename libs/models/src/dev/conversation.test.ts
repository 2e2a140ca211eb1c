import { test } from 'node:test';
import fc from 'fast-check';
import { countTokens, splitTokens } from './conversation.ts';

test('countTokens matches splitTokens for any text', () => {
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\v', '\f', '\r', '\u001f', '\u00a0', '\u2028', 'a', 'é', '漢', '\u{1f600}') }),
    fc.string({ unit: 'binary' }),
  );
  fc.assert(fc.property(text, (one) => countTokens(one) === splitTokens(one).length));
});
