import type { AgentDirectory } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { OfferPublisher } from '../offers/offer-publisher.ts';
import type { SkillLibrary } from '../skills/skill-library.ts';

/** Dependencies of the handlers. */
export interface HandlerDeps {
  agents: AgentDirectory;
  library: SkillLibrary;
  offers: OfferPublisher;
  log: Logger;
  now: () => number;
}
