import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import { cruiseRepository } from '../../scripts/check/boundaries/boundaries.ts';
import { options, rules } from '../../scripts/check/boundaries/boundary-rules.ts';

const fixtures = fileURLToPath(new URL('fixtures/', import.meta.url));

test('every rule reports the fixture that breaks it', async () => {
  const { output } = await cruise(['services', 'libs', 'scripts'], {
    ...options,
    baseDir: fixtures,
    validate: true,
    ruleSet: { forbidden: [...rules] },
  });
  const broken = new Set((output as ICruiseResult).summary.violations.map(({ rule }) => rule.name));
  for (const { name } of rules) assert.ok(broken.has(name), `no fixture breaks ${name}, or the rule is blind`);
});

test('the repository follows all rules, and enough modules were read', async () => {
  const { violations, totalCruised } = await cruiseRepository();
  assert.deepEqual(violations, []);
  assert.ok(totalCruised > 150, `only ${totalCruised} modules were seen`);
});
