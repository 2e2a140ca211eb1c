import { inputSchema, type JsonSchema } from '../definition/json-schema.ts';
import { GraphDefinition } from './definition.ts';
import { NodeType, nodeTypeConfigs } from './node-types.ts';

const DRAFT = 'http://json-schema.org/draft-07/schema#';

/** Returns the JSON Schema of a graph file. Editors complete and check a file by it, each `type_config` by its `type_id`. */
export function buildGraphSchema(): JsonSchema {
  const { properties = {}, ...schema } = inputSchema(GraphDefinition);
  const nodes = properties['nodes'] ?? {};
  const node = nodes['items'] as JsonSchema;
  return {
    $schema: DRAFT,
    title: 'Switchyard graph',
    ...schema,
    properties: {
      $schema: { type: 'string' },
      ...properties,
      nodes: { ...nodes, items: { ...node, allOf: [...NodeType.options.flatMap(describeType), ...requireFields()] } },
    },
  };
}

/** Returns the form of `type_config` for one type, in both spellings of the fields. */
function describeType(type: NodeType): JsonSchema[] {
  const config = inputSchema(nodeTypeConfigs[type]);
  return [
    { anyOf: [{ not: matches('type_id', type) }, { required: ['type_config'], properties: { type_config: config } }] },
    { anyOf: [{ not: matches('typeId', type) }, { required: ['typeConfig'], properties: { typeConfig: config } }] },
  ];
}

function matches(field: string, type: NodeType): JsonSchema {
  return { required: [field], properties: { [field]: { const: type } } };
}

function requireFields(): JsonSchema[] {
  return [{ anyOf: [{ required: ['node_id'] }, { required: ['nodeId'] }] }];
}
