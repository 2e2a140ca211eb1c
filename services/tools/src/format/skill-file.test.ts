import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { parseSkillFile } from './skill-file.ts';

const NAMED = 'name: notes\ndescription: Takes notes.';

function parse(head: string) {
  return parseSkillFile(`---\n${head}\n---\nText.\n`);
}

function refusal(content: string, field?: string): string {
  let thrown: unknown;
  try {
    parseSkillFile(content, field);
  } catch (error) {
    thrown = error;
  }
  assert.ok(thrown instanceof ServiceError && thrown.code === 'INVALID_ARGUMENT', String(thrown));
  return thrown.message;
}

const refusedHead = (head: string): string => refusal(`---\n${head}\n---\nText.\n`);

test('parseSkillFile reads all fields in both spellings', () => {
  const { head, body } = parse(
    [
      'name: notes',
      'description: >-\n  Takes\n  notes.',
      'type: prompt',
      'version: 1.0',
      'license: MIT',
      'user-invocable: false',
      'disable-model-invocation: true',
      'allowed-tools: [read, "group:files"]',
      'argument-hint: [topic]',
      'inputSchema: {type: object}',
      'permissions: {fsRead: [docs], net: [example.com], env: [TOKEN]}',
      'metadata: {author: me, nested: {a: [1]}}',
      'os: [linux, macOS]',
      'requires: {bins: [git, g++], env: [HOME]}',
      'unknown: {a: 1}',
    ].join('\n'),
  );
  assert.deepEqual(head, {
    name: 'notes',
    description: 'Takes notes.',
    type: 'prompt',
    version: '1.0',
    license: 'MIT',
    userInvocable: false,
    disableModelInvocation: true,
    allowedTools: ['read', 'group:files'],
    argumentHint: '[topic]',
    inputSchema: { type: 'object' },
    permissions: { fsRead: ['docs'], net: ['example.com'], env: ['TOKEN'] },
    metadata: { author: 'me', nested: { a: [1] } },
    os: ['linux', 'darwin'],
    requires: { bins: ['git', 'g++'], env: ['HOME'] },
  });
  assert.equal(body, 'Text.');
  assert.deepEqual(parse(`${NAMED}\nallowedTools: [a]\nuserInvocable: false\ndisableModelInvocation: true\nargumentHint: x`).head, {
    name: 'notes',
    description: 'Takes notes.',
    allowedTools: ['a'],
    userInvocable: false,
    disableModelInvocation: true,
    argumentHint: 'x',
  });
});

test('parseSkillFile applies defaults and ignores unknown fields', () => {
  const { head } = parse(`${NAMED}\nconstructor: x\n__proto__: {userInvocable: false}\nmodel: opus`);
  assert.deepEqual(head, { name: 'notes', description: 'Takes notes.', userInvocable: true, disableModelInvocation: false });
});

test('parseSkillFile accepts tool names in one text', () => {
  for (const [text, names] of [
    ['read grep', ['read', 'grep']],
    ['read, grep,ls', ['read', 'grep', 'ls']],
    ['Bash(git add:*), Read', ['Bash(git add:*)', 'Read']],
    ['""', []],
  ] as const)
    assert.deepEqual(parse(`${NAMED}\nallowed-tools: ${text}`).head.allowedTools, names, text);
});

test('parseSkillFile reads os and requires in a platform block', () => {
  const { head } = parse(`${NAMED}\nplatform:\n  os: windows\n  requires: {bins: [git]}\n  skill-key: x`);
  assert.deepEqual([head.os, head.requires], [['win32'], { bins: ['git'] }]);
  assert.match(
    refusedHead(`${NAMED}\nos: linux\nplatform: {os: linux}`),
    /content: expected one of the front matter fields os and platform.os, got both/,
  );
});

test('parseSkillFile refuses both spellings of a field', () => {
  for (const [one, other] of [
    ['allowed-tools: a', 'allowedTools: [a]'],
    ['user-invocable: true', 'userInvocable: true'],
    ['disable-model-invocation: true', 'disableModelInvocation: true'],
    ['argument-hint: a', 'argumentHint: a'],
  ] as const)
    assert.match(refusedHead(`${NAMED}\n${one}\n${other}`), /expected one of the front matter fields [\w-]+ and \w+, got both/);
});

test('parseSkillFile names the field, what it expected and what it got', () => {
  for (const [head, message] of [
    ['name: notes', /content: front matter field description: expected string, got nothing/],
    ['description: x', /front matter field name: expected string, got nothing/],
    ['name: notes\ndescription:', /front matter field description: expected string, got null/],
    [`name: notes\ndescription: ${'x'.repeat(1_025)}`, /front matter field description: expected string of at most 1024 characters/],
    [`${NAMED}\nuser-invocable: maybe`, /front matter field user-invocable: expected boolean, got string/],
    [`${NAMED}\nallowed-tools: 5`, /front matter field allowed-tools: expected array, got number/],
    [`${NAMED}\ntype: code`, /front matter field type: expected "prompt"/],
    [`${NAMED}\nrequires: {bins: [../sh]}`, /front matter field requires\.bins\.0: expected string matching/],
    [`${NAMED}\nmetadata: {a: "${'x'.repeat(9_000)}"}`, /front matter field metadata: expected object of at most 8192 characters/],
  ] as const)
    assert.match(refusedHead(head), message);
  assert.match(refusal('---\nname: x\n---\n', 'files'), /files: front matter field description/);
});

test('parseSkillFile accepts names of 1 to 64 lower-case letters, digits and single hyphens', () => {
  for (const name of ['a', '7', 'a-b-3', 'x'.repeat(64), '"123"', '123'])
    assert.equal(parse(`name: ${name}\ndescription: x`).head.name, name.replaceAll('"', ''));
  for (const name of ['""', 'A', 'a--b', '-a', 'a-', 'a_b', 'a b', 'a/b', '..', 'é', 'x'.repeat(65)])
    assert.match(refusedHead(`name: ${name}\ndescription: x`), /front matter field name/, name);
});

test('parseSkillFile accepts a byte order mark, CRLF, spaces after the lines, and an empty body', () => {
  const content = `\ufeff--- \r\n${NAMED.replaceAll('\n', '\r\n')}\r\n---\t\r\n\r\nOne\r\nTwo\r\n`;
  assert.deepEqual([parseSkillFile(content).head.description, parseSkillFile(content).body], ['Takes notes.', 'One\r\nTwo']);
  assert.equal(parseSkillFile(`---\n${NAMED}\n---`).body, '');
  assert.equal(parseSkillFile(`---\n${NAMED}\n---\na\n---\nb`).body, 'a\n---\nb');
});

test('parseSkillFile refuses a front matter that is missing, open or too long', () => {
  assert.match(refusal('# Notes'), /expected YAML front matter between two lines/);
  assert.match(refusal(''), /expected YAML front matter/);
  assert.match(refusal(`---\n${NAMED}\n`), /expected a line `---` that ends the front matter, got none/);
  assert.match(refusal(`---\n${NAMED}\n---x\n`), /expected a line `---`/);
  assert.match(refusal(`---\n${NAMED}\na: ${'x'.repeat(2 ** 20)}\n---\n`), /expected a front matter of at most 65536 characters/);
  assert.match(refusal('---\n---\nText'), /expected a front matter with fields such as `name: value`, got none/);
  assert.match(refusal('---\n- a\n---\nText'), /expected a front matter with fields such as `name: value`, got another value/);
});

test('parseSkillFile refuses hostile YAML with the line', () => {
  for (const [head, message] of [
    [`a: &a [x]\nb: *a\n${NAMED}`, /expected a front matter without aliases, got \*a/],
    [`${NAMED}\nname: other`, /expected each front matter field once, got name twice/],
    [`${NAMED}\nmetadata: {a: 1, a: 2}`, /got a twice/],
    ['name: notes\n\tdescription: x', /expected valid YAML .*, got line 3: /],
    ['name: notes\ndescription: use: this', /\(texts with `: ` or `#` need quotes\), got line 3: Nested mappings/],
    [`${NAMED}\nmetadata: !!js/function "function () { throw 1 }"`, /got line 4: Unresolved tag/],
    [`${NAMED}\n? [a]\n: b`, /named by a text, got another key/],
    [`${NAMED}\nmetadata: ${'['.repeat(30_000)}${']'.repeat(30_000)}`, /less nesting/],
    [`${NAMED}\nmetadata: ${'['.repeat(60_000)}`, /valid YAML|less nesting/],
  ] as const)
    assert.match(refusedHead(head), message);
});

test('parseSkillFile takes linear time for 64 KB of any front matter', () => {
  const count = 5_000;
  const keys = Array.from({ length: count }, (_, at) => `k${at}: 1`).join('\n');
  const heads = [
    keys,
    '"'.repeat(60_000),
    'a: [\n'.repeat(10_000),
    '- '.repeat(30_000),
    '{a: '.repeat(15_000),
    '\n\t'.repeat(30_000),
    '&a '.repeat(20_000),
  ];
  for (const head of heads) {
    const began = process.threadCpuUsage();
    try {
      parse(head);
    } catch (error) {
      assert.ok(error instanceof ServiceError, String(error));
    }
    const { user } = process.threadCpuUsage(began);
    assert.ok(user < 2_000_000, `${head.slice(0, 10)} took ${user} µs`);
  }
});
