import { unserved } from './unserved-methods.ts';
import { jsonRpcCode, type ErrorCode } from '../definition/errors.ts';
import type { Example, MethodSpec } from '../definition/define.ts';
import { inputSchema, outputSchema, type JsonSchema } from '../definition/json-schema.ts';
import { publicMethods, type Callable, type MethodName } from './contracts.ts';

export interface ContentDescriptor {
  name: string;
  description?: string;
  required?: boolean;
  schema: JsonSchema;
}

export interface OpenRpcMethod {
  name: string;
  summary: string;
  description?: string;
  tags: { name: string }[];
  paramStructure: 'by-name';
  params: ContentDescriptor[];
  result: ContentDescriptor;
  errors: { code: number; message: string; data?: unknown }[];
  examples: { name: string; params: { name: string; value: unknown }[]; result: { name: string; value: unknown } }[];
  'x-scope': string;
  'x-service': string;
  'x-deadline-ms': number;
  'x-idempotent': boolean;
  /** On what the product adds to the interface. */
  'x-beyond'?: true;
  'x-emits': readonly string[];
  /** False while no service answers it. */
  'x-served': boolean;
}

export interface OpenRpcDocument {
  openrpc: '1.3.2';
  info: { title: string; version: string; description: string; license: { name: string; url: string } };
  servers: { name: string; url: string; summary: string }[];
  methods: OpenRpcMethod[];
  components: { schemas: Record<string, JsonSchema> };
}

/** Answered at the edge with this very document; needs a valid token and no scope. */
export const DISCOVER = 'rpc.discover';

let projected: Pick<OpenRpcDocument, 'methods' | 'components'> | undefined;

interface Served {
  url: string;
  version: string;
}

/** Every public method as an OpenRPC 1.3.2 document, for the edge that answers at `url`. Projected at the first call only. */
export function buildOpenRpcDocument(served: Served): OpenRpcDocument {
  const steps = buildOpenRpcInSteps(served);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Builds the same document one method per step, so that the caller can yield to other work: the whole takes long. */
export function* buildOpenRpcInSteps({ url, version }: Served): Generator<undefined, OpenRpcDocument> {
  projected ??= yield* projectMethods();
  return {
    openrpc: '1.3.2',
    info: {
      title: 'Switchyard',
      version,
      description: 'The JSON-RPC 2.0 methods of an agent gateway, over POST /rpc and WebSocket /ws.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ name: 'gateway', url, summary: 'JSON-RPC over HTTP; the same methods over WebSocket at /ws' }],
    ...projected,
  };
}

function* projectMethods(): Generator<undefined, Pick<OpenRpcDocument, 'methods' | 'components'>> {
  const schemas: Record<string, JsonSchema> = {};
  const methods = [discover()];
  for (const callable of publicMethods.values()) {
    methods.push(projectMethod(callable, schemas));
    yield;
  }
  methods.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { methods, components: { schemas } };
}

function projectMethod(callable: Callable, schemas: Record<string, JsonSchema>): OpenRpcMethod {
  const { name, service, scope = '', deadlineMs, idempotent, emits } = callable;
  const spec = callable.spec as MethodSpec;
  return {
    name,
    summary: spec.summary,
    ...(spec.description === undefined ? {} : { description: spec.description }),
    tags: [{ name: name.slice(0, name.indexOf('.')) }],
    paramStructure: 'by-name',
    params: paramDescriptors(hoist(inputSchema(spec.params), `${name}.params`, schemas)),
    result: { name: 'result', schema: hoist(outputSchema(spec.result), `${name}.result`, schemas) },
    errors: getErrors(spec, scope),
    examples: spec.examples.map(projectExample),
    'x-scope': scope,
    'x-service': service,
    'x-deadline-ms': deadlineMs,
    'x-idempotent': idempotent,
    ...(spec.beyond === undefined ? {} : { 'x-beyond': spec.beyond }),
    'x-emits': emits,
    'x-served': !unserved.has(name as MethodName),
  };
}

/** Required ones first. Where params take several forms, a name is required when every form requires it. */
function paramDescriptors(schema: JsonSchema): ContentDescriptor[] {
  const forms = schema.anyOf ?? schema.oneOf ?? [schema];
  const descriptors = new Map<string, ContentDescriptor>();
  for (const form of forms) {
    for (const [name, property] of Object.entries(form.properties ?? {})) {
      const required = forms.every((each) => each.required?.includes(name));
      const known = descriptors.get(name)?.schema;
      const { description, ...rest } = property;
      const merged = known === undefined || same(known, rest) ? rest : { anyOf: [...(known.anyOf ?? [known]), rest] };
      descriptors.set(name, { name, ...(typeof description === 'string' ? { description } : {}), required, schema: merged });
    }
  }
  return [...descriptors.values()].sort((a, b) => Number(b.required) - Number(a.required));
}

function same(a: JsonSchema, b: JsonSchema): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** A schema that refers to itself keeps its definitions in the components, where the document's references find them. */
export function hoist(schema: JsonSchema, owner: string, schemas: Record<string, JsonSchema>): JsonSchema {
  const { definitions, ...rest } = schema;
  const moved = (part: unknown) =>
    JSON.parse(
      JSON.stringify(part, (key, value: unknown) =>
        key === '$ref' && typeof value === 'string' ? value.replace('#/definitions/', `#/components/schemas/${owner}.`) : value,
      ),
    ) as JsonSchema;
  for (const [name, definition] of Object.entries(definitions ?? {})) schemas[`${owner}.${name}`] = moved(definition);
  return moved(rest);
}

function getErrors(spec: MethodSpec, scope: string): OpenRpcMethod['errors'] {
  const declared = new Set<ErrorCode>(['INVALID_ARGUMENT', ...(spec.errors ?? [])]);
  return [
    {
      code: jsonRpcCode({ code: 'PERMISSION_DENIED' }),
      message: `Insufficient scope: requires '${scope}'`,
      data: { code: 'PERMISSION_DENIED' },
    },
    ...[...declared].flatMap((code) => getNumbers(code).map((number) => ({ code: number, message: code, data: { code } }))),
  ];
}

/** RESOURCE_EXHAUSTED has a second number for rate limits. */
function getNumbers(code: ErrorCode): number[] {
  return code === 'RESOURCE_EXHAUSTED' ? [jsonRpcCode({ code, details: { rate: true } }), jsonRpcCode({ code })] : [jsonRpcCode({ code })];
}

function projectExample({ params, result }: Example, index: number): OpenRpcMethod['examples'][number] {
  return {
    name: `example ${index + 1}`,
    params: Object.entries(params as Record<string, unknown>).map(([name, value]) => ({ name, value })),
    result: { name: 'result', value: result },
  };
}

function discover(): OpenRpcMethod {
  return {
    name: DISCOVER,
    summary: 'This document.',
    tags: [{ name: 'rpc' }],
    paramStructure: 'by-name',
    params: [],
    result: { name: 'result', schema: { $ref: 'https://meta.open-rpc.org/' } },
    errors: [],
    examples: [],
    'x-scope': 'none',
    'x-service': 'gateway',
    'x-deadline-ms': 30_000,
    'x-idempotent': true,
    'x-beyond': true,
    'x-emits': [],
    'x-served': true,
  };
}
