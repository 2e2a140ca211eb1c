import { closest, OBJECT_SECTIONS, SECTION_NAMES, ServiceError, type SectionName } from '@switchyard/contracts';

/** Finds a section by name. Throws NOT_FOUND with a suggestion. */
export function findSection(name: string): SectionName {
  const section = OBJECT_SECTIONS.find((one) => one === name);
  if (section !== undefined) return section;
  const root = SECTION_NAMES.some((one) => one === name);
  const closestName = closest(name, OBJECT_SECTIONS);
  const hint = root
    ? '. It is a key outside of sections; use config.patch'
    : closestName === undefined
      ? ''
      : `; did you mean ${closestName}?`;
  throw new ServiceError('NOT_FOUND', `${name} is not a section of the configuration${hint}`, { details: { reason: 'NO_SUCH_SECTION' } });
}
