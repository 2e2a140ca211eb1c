import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileTemplate, type TemplateVariables } from './template.ts';

const variables: TemplateVariables = {
  payload: {
    action: 'opened',
    count: 0,
    draft: false,
    nothing: null,
    items: [{ name: 'first' }, { name: 'second', tags: [['a', 'b']] }],
    repository: { full_name: 'octo/repo' },
    path: 'of the payload',
    nested: '{{action}}',
  },
  headers: { 'x-github-event': 'issues' },
  query: { tag: 'red', many: ['one', 'two'] },
  path: 'github/deep',
  now: '2026-01-02T03:04:05.000Z',
};

function render(text: string, limit = 10_000): string {
  return compileTemplate(text)(variables, limit);
}

test('renders every documented expression', () => {
  for (const [text, expected] of [
    ['{{payload.action}}', 'opened'],
    ['{{ payload.items[1].name }}', 'second'],
    ['{{items[0].name}}', 'first'],
    ['{{payload.items[1].tags[0][1]}}', 'b'],
    ['{{headers.X-GitHub-Event}}', 'issues'],
    ['{{query.tag}} {{query.many}}', 'red one'],
    ['{{path}}', 'github/deep'],
    ['{{payload.path}}', 'of the payload'],
    ['{{now}}', '2026-01-02T03:04:05.000Z'],
    ['{{count}} {{draft}}', '0 false'],
    ['{{repository}}', '{"full_name":"octo/repo"}'],
    ['a {{action}} b {{action}} c', 'a opened b opened c'],
    ['no expression { at }} all {{', 'no expression { at }} all {{'],
  ] as const)
    assert.equal(render(text), expected, text);
});

test('renders missing values as empty text', () => {
  for (const text of [
    '{{payload.nobody}}',
    '{{payload.nothing}}',
    '{{items[9].name}}',
    '{{items.length}}',
    '{{items[-1]}}',
    '{{items[x]}}',
    '{{action.length}}',
    '{{headers.nobody}}',
    '{{query.nobody}}',
    '{{payload.}}',
    '{{a..b}}',
  ])
    assert.equal(render(`<${text}>`), '<>', text);
});

test('renders no inherited property', () => {
  for (const path of ['__proto__', 'constructor', 'constructor.name', 'toString', 'items.__proto__', 'items.map', 'hasOwnProperty'])
    assert.equal(render(`{{payload.${path}}}{{headers.${path}}}{{query.${path}}}`), '', path);
  const own = JSON.parse('{"__proto__": {"name": "of the sender"}}') as unknown;
  assert.equal(compileTemplate('{{__proto__.name}}')({ ...variables, payload: own }, 100), 'of the sender');
});

test('does not evaluate expressions inside values', () => {
  assert.equal(render('{{nested}}'), '{{action}}');
});

test('truncates a text at the limit and keeps it well-formed', () => {
  assert.equal(render('abc{{action}}', 5), 'abcop');
  const payload = { text: '\u{1F600}'.repeat(10), large: 'x'.repeat(100_000) };
  assert.equal(compileTemplate('{{text}}')({ ...variables, payload }, 3), '\u{1F600}\uFFFD');
  const repeated = compileTemplate('{{large}}'.repeat(10_000));
  const before = performance.now();
  assert.equal(repeated({ ...variables, payload }, 1_000_000).length, 1_000_000);
  assert.ok(performance.now() - before < 3_000, 'rendering stops at the limit');
});

test('limits the depth of paths and of serialized values', () => {
  const deep = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)) as unknown;
  assert.equal(compileTemplate('<{{deep}}>')({ ...variables, payload: { deep } }, 100), '<>');
  const steps = 'a.'.repeat(40) + 'a';
  const nest = (levels: number): unknown => (levels === 0 ? 'found' : { a: nest(levels - 1) });
  assert.equal(compileTemplate(`{{${steps}}}`)({ ...variables, payload: nest(41) }, 100), '');
  assert.equal(compileTemplate('{{a.a.a}}')({ ...variables, payload: nest(3) }, 100), 'found');
});
