import type { Handler } from '@switchyard/bus';
import { inputSchema, OBJECT_SECTIONS, SECTION_NAMES, sections, type JsonSchema } from '@switchyard/contracts';
import { inSteps } from '@switchyard/service-kit';
import { findSection } from '../../config/find-section.ts';

/** The JSON schema of the configuration. */
export function configSchema(): Handler<'config.schema'> {
  let all: Promise<Record<string, JsonSchema>> | undefined;
  return async ({ section }) => {
    if (section !== undefined) {
      const name = findSection(section);
      return { schema: inputSchema(sections[name]), sections: [name], section: name };
    }
    return { schema: await (all ??= inSteps(describeSections())), sections: [...OBJECT_SECTIONS] };
  };
}

function* describeSections(): Generator<undefined, Record<string, JsonSchema>> {
  const schemas: Record<string, JsonSchema> = {};
  for (const name of SECTION_NAMES) {
    schemas[name] = inputSchema(sections[name]);
    yield;
  }
  return schemas;
}
