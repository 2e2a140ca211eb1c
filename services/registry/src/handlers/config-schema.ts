import type { Handler } from '@switchyard/bus';
import { inputSchema, OBJECT_SECTIONS, SECTION_NAMES, sections, type SectionName } from '@switchyard/contracts';
import { sectionNamed } from '../config/section-named.ts';

/** What may be written, as the declarations say; the same for everybody. */
export function configSchema(): Handler<'config.schema'> {
  return ({ section }) => {
    if (section !== undefined) {
      const name = sectionNamed(section);
      return { schema: inputSchema(sections[name]), sections: [name], section: name };
    }
    const schema = Object.fromEntries(SECTION_NAMES.map((name: SectionName) => [name, inputSchema(sections[name])]));
    return { schema, sections: [...OBJECT_SECTIONS] };
  };
}
