import { OBJECT_SECTIONS, SECTION_NAMES, ServiceError, type SectionName } from '@switchyard/contracts';
import { closest } from '@switchyard/service-kit';

/** The section of this name; NOT_FOUND, with what may have been meant, where there is none. */
export function sectionNamed(name: string): SectionName {
  const section = OBJECT_SECTIONS.find((one) => one === name);
  if (section !== undefined) return section;
  const root = SECTION_NAMES.some((one) => one === name);
  const meant = closest(name, OBJECT_SECTIONS);
  const hint = root ? ': it is a key beside them, which config.patch writes' : meant === undefined ? '' : `; did you mean ${meant}?`;
  throw new ServiceError('NOT_FOUND', `${name} is no section of the configuration${hint}`, { details: { reason: 'NO_SUCH_SECTION' } });
}
