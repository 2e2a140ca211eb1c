import { inputSchema, outputSchema, publicMethods, unserved, type Callable, type MethodName, type MethodSpec } from '@switchyard/contracts';
import { code, fields, json, sentence, table } from './markdown.ts';

const FOLDER = 'docs/reference/methods';

/** A page for each namespace, and one that lists them all. */
export function methodPages(): Record<string, string> {
  const spaces = Map.groupBy([...publicMethods.values()].toSorted(byName), ({ name }) => name.slice(0, name.indexOf('.')));
  const names = [...spaces.keys()].toSorted();
  return {
    [`${FOLDER}/README.md`]: index(names, spaces),
    ...Object.fromEntries(names.map((name) => [`${FOLDER}/${name}.md`, page(name, spaces.get(name) ?? [])])),
  };
}

function byName(one: Callable, other: Callable): number {
  return one.name < other.name ? -1 : 1;
}

function index(names: readonly string[], spaces: ReadonlyMap<string, readonly Callable[]>): string {
  const rows = names.map((name) => {
    const methods = spaces.get(name) ?? [];
    return [`[${name}](${name}.md)`, methods[0]?.service ?? '', methods.map((method) => code(method.name)).join(' ')];
  });
  return `# Methods

Written by \`make lock\` from [the contracts](../../../libs/contracts/src/registry.ts); do not edit it. A running gateway says the same at \`/openrpc.json\`, for programs.

Every method is called over \`POST /rpc\` and over the WebSocket \`/ws\`, as JSON-RPC 2.0. Any may fail with what all may: a token that is missing or may not (\`UNAUTHENTICATED\`, \`PERMISSION_DENIED\`), parameters that are wrong (\`INVALID_ARGUMENT\`), a rate that is used up (\`RESOURCE_EXHAUSTED\`), a service that does not answer (\`UNAVAILABLE\`, \`DEADLINE_EXCEEDED\`).

${table(['Namespace', 'Answered by', 'Methods'], rows)}
`;
}

function page(name: string, methods: readonly Callable[]): string {
  return `# ${name}

Written by \`make lock\` from the contracts; do not edit it. [All methods](README.md), and what any of them may fail with.

${methods.map(section).join('\n\n')}
`;
}

function section(method: Callable): string {
  const { summary, description, params, result, chunk, examples } = method.spec as MethodSpec;
  return [
    `## ${method.name}`,
    `${summary}${description === undefined ? '' : ` ${description}`}`,
    facts(method)
      .map((fact) => `- ${fact}`)
      .join('\n'),
    '### Parameters',
    fields(inputSchema(params), 'required'),
    '### Result',
    fields(outputSchema(result), 'always'),
    ...(chunk === undefined ? [] : ['### While it runs', fields(outputSchema(chunk), 'always')]),
    ...examples.flatMap((example) => ['### Example', json(example.params), json(example.result)]),
  ].join('\n\n');
}

function facts({ name, scope = 'rpc', deadlineMs, idempotent, keyed, tool, audited, looked, sealed, emits, spec }: Callable): string[] {
  const { errors = [], beyond } = spec as MethodSpec;
  const facts = [
    `Scope ${code(scope)}; a caller waits ${deadlineMs / 1_000} s at most.`,
    keyed ? 'Takes an idempotency key: asked again under it, it is the same call.' : idempotent ? 'Twice is the same as once.' : '',
    tool ? 'Agents may use it as a tool, and MCP clients.' : '',
    audited === undefined ? '' : `Each call stands on record as ${code(audited)}.`,
    looked ? 'It is on record afterwards, and calls in a row are counted.' : '',
    sealed === undefined ? '' : `Behind the edge ${[...sealed.params, ...sealed.result].map(code).join(' and ')} crosses sealed.`,
    errors.length === 0 ? '' : `May fail with ${errors.map(code).join(', ')}.`,
    emits.length === 0 ? '' : `Causes ${emits.map(eventLink).join(', ')}.`,
    beyond ? 'An addition of this product to the interface.' : '',
    unserved.has(name as MethodName) ? 'No service answers it yet: it is `UNAVAILABLE`.' : '',
  ];
  return facts.filter((fact) => fact !== '').map(sentence);
}

function eventLink(name: string): string {
  return `[${code(name)}](../events.md)`;
}
