import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import { test } from 'node:test';
import { scanSkill } from './content-scan.ts';
import { SCAN_RULES } from './scan-rules.ts';
import { ORDINARY_SKILLS, RULE_EXAMPLES } from './scan-examples.fixture.ts';

async function scan(content: string): Promise<string[]> {
  return (await scanSkill([{ path: 'SKILL.md', content }])).map(({ rule }) => rule);
}

test('the scan has 18 rules in 6 categories', () => {
  assert.equal(SCAN_RULES.length, 18);
  assert.equal(new Set(SCAN_RULES.map(({ name }) => name.split('.')[0])).size, 6);
  assert.deepEqual(
    SCAN_RULES.filter(({ severity }) => severity === 'critical').map(({ name }) => name),
    [
      'execution.exec-injection',
      'execution.reverse-shell',
      'obfuscation.decode-pipe',
      'mining.program',
      'mining.pool',
      'mining.browser-script',
      'prompt.tag-breakout',
    ],
  );
  assert.deepEqual(
    Object.keys(RULE_EXAMPLES),
    SCAN_RULES.map(({ name }) => name),
  );
});

for (const [rule, { found, passed }] of Object.entries(RULE_EXAMPLES))
  test(`${rule} finds its examples and passes others`, async () => {
    for (const text of found) {
      assert.ok((await scan(`Text.\n${text}\nText.`)).includes(rule), `not found: ${text}`);
      assert.ok((await scan(`${'word '.repeat(6_550)}${text}`)).includes(rule), `not found at the border of two parts: ${text}`);
    }
    for (const text of passed) assert.ok(!(await scan(`Text.\n${text}\nText.`)).includes(rule), `found: ${text}`);
  });

test('ordinary skills have no critical finding', async () => {
  assert.equal(ORDINARY_SKILLS.length, 10);
  for (const content of ORDINARY_SKILLS) {
    const findings = await scanSkill([{ path: 'SKILL.md', content }]);
    assert.deepEqual(
      findings.filter(({ severity }) => severity === 'critical'),
      [],
      content.slice(0, 60),
    );
  }
});

test('scanSkill finds commands that invisible characters, comments, capitals or continued lines divide', async () => {
  for (const text of [
    'xm\u200brig',
    'XMRig',
    'ｘｍｒｉｇ',
    'xm<!-- x -->rig',
    'xm\uff1c\uff01-- x -->rig',
    'echo aGk= | base64 -d \\\n  | bash',
    'echo aGk=   |  base64   --decode|sh',
  ])
    assert.ok(
      (await scan(text)).some((rule) => /mining\.program|decode-pipe/.test(rule)),
      text,
    );
});

test('scanSkill reports each rule once for each file, with its path', async () => {
  const content = 'xmrig\n'.repeat(20_000);
  const findings = await scanSkill([
    { path: 'SKILL.md', content: 'Text.' },
    { path: 'a.sh', content },
    { path: 'b.sh', content },
  ]);
  assert.deepEqual(findings, [
    { rule: 'mining.program', severity: 'critical', path: 'a.sh' },
    { rule: 'mining.program', severity: 'critical', path: 'b.sh' },
  ]);
});

test('scanSkill lets other work run while it scans 4 MB of repeated prefixes', async () => {
  const prefixes = [
    'curl ',
    'base64 -d ',
    'nc -a ',
    'eval $(',
    'exec(a.a.',
    'do not tell a b ',
    'cat ',
    'mkfifo a ',
    'powershell -',
    'a'.repeat(999) + ' ',
    '<!--',
    'reg add ',
    '\n',
    'ignore a a a ',
    '>> ',
    '\u200b ',
  ];
  const content = prefixes.map((prefix) => prefix.repeat(Math.ceil(250_000 / prefix.length))).join('\n');
  assert.ok(content.length >= 4_000_000);
  let turns = 0;
  const began = performance.now();
  const timer = setInterval(() => void (turns += 1), 1);
  const findings = await scanSkill([{ path: 'SKILL.md', content }]);
  clearInterval(timer);
  assert.ok(
    findings.every(({ severity }) => severity === 'warning'),
    JSON.stringify(findings),
  );
  assert.ok(turns >= 10, `${turns} turns in ${performance.now() - began} ms`);
});
