import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SABOTAGE } from './witness/sabotage.ts';

test('every sabotaged line occurs in the code exactly once', () => {
  for (const [name, { patches }] of Object.entries(SABOTAGE))
    for (const { file, from } of patches) {
      const code = readFileSync(new URL(`../../services/${file}`, import.meta.url), 'utf8');
      assert.equal(code.split(from).length - 1, 1, `${name}: ${file} has ${from}`);
    }
});
