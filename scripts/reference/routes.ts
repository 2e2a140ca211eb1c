import { publicMethods, type JsonSchema } from '@switchyard/contracts';
import { inSteps } from '@switchyard/service-kit';
import { openApiSteps } from '../../services/gateway/src/docs/openapi.ts';
import { startTestGateway } from '../../services/gateway/src/gateway.fixture.ts';
import { describeType } from '../describe-schema.ts';
import { cell, code, described, fields, json, table } from './markdown.ts';

interface Content {
  schema?: JsonSchema & { $ref?: string };
  example?: unknown;
}
interface Operation {
  tags: [string];
  description: string;
  security?: object[];
  parameters?: { name: string; in: string; required: boolean; description?: string; schema: JsonSchema }[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { description: string; content?: Record<string, Content> }>;
}

/** Every route, as a gateway says them of itself. */
export async function routesPage(): Promise<string> {
  await using gateway = await startTestGateway();
  const { tags, paths } = await inSteps(openApiSteps(gateway.gateway.routes, { url: gateway.url, version: '0.0.0' }));
  const operations = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ title: `${verb.toUpperCase()} ${path}`, ...(operation as unknown as Operation) })),
  );
  const sections = tags.map(({ name, description }) => {
    const own = operations.filter((operation) => operation.tags[0] === name);
    return `# ${name}\n\n${description}\n\n${own.map(section).join('\n\n')}`;
  });
  return `# Routes

Written by \`make lock\` from what each route says of itself; do not edit it. A running gateway says the same at \`/openapi.json\`, for programs. The ${publicMethods.size} methods of \`POST /rpc\` and \`/ws\` have [pages of their own](methods/README.md), [events](events.md) and [limits](limits.md) too.

${sections.join('\n\n')}
`;
}

function section({ title, description, security, parameters = [], requestBody, responses }: Operation & { title: string }): string {
  const body = Object.values(requestBody?.content ?? {})[0];
  const query = security?.some((way) => 'queryToken' in way) === true;
  return [
    `## ${title}`,
    description,
    security?.length === 0 ? 'Anybody may ask.' : query ? 'A token or a ticket may stand in the query.' : '',
    parameters.length === 0 ? '' : parameterTable(parameters),
    body?.schema === undefined ? '' : `### Body\n\n${fields(body.schema, 'required')}`,
    body?.example === undefined ? '' : json(body.example),
    `### Answers\n\n${answers(responses)}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function parameterTable(parameters: NonNullable<Operation['parameters']>): string {
  const rows = parameters.map(({ name, in: where, required, description = '', schema }) => {
    return [code(name), where, cell(describeType(schema)), required ? 'required' : '', cell(description || described(schema))];
  });
  return table(['Parameter', 'In', 'Type', '', 'Meaning'], rows);
}

function answers(responses: Operation['responses']): string {
  const rows = Object.entries(responses).map(([status, { description, content = {} }]) => {
    const [type = '', { schema = {} } = {}] = Object.entries(content)[0] ?? [];
    const what = schema.$ref?.split('/').at(-1) ?? (type === 'application/json' ? describeType(schema) : type);
    return [status, cell(description), cell(what)];
  });
  return table(['Status', 'Means', 'Body'], rows);
}
