import { tools as contract } from '@switchyard/contracts';
import { createEgress } from '@switchyard/egress';
import { defineService, openAgentDirectory } from '@switchyard/service-kit';
import { skillCollection, skillTextCollection } from './documents/collections.ts';
import type { HandlerDeps } from './handlers/handler-deps.ts';
import { skillsImport } from './handlers/skills-import.ts';
import { skillsList } from './handlers/skills-list.ts';
import { skillsCreate, skillsDelete, skillsUpdate, skillsUpload } from './handlers/skills-write.ts';
import { skillsUse, toolsUse } from './handlers/use-skill.ts';
import { createDownloads } from './import/downloads.ts';
import { openOfferPublisher } from './offers/offer-publisher.ts';
import { createSkillLibrary } from './skills/skill-library.ts';
import { SHARED_OWNER } from './skills/skill-owner.ts';

/** Keeps the skills of agents, and offers them as tools. */
export const tools = defineService({
  contract,
  version: '0.1.0',
  settings: ['security'],

  async setup({ settings, store, bus, log, own, env }) {
    const { skills, texts } = await store.open({ skills: skillCollection, texts: skillTextCollection });
    const now = (): number => store.now();
    const agents = own.use(await openAgentDirectory(bus, env, log));
    const library = createSkillLibrary({ skills, texts, now });
    const offers = await openOfferPublisher({ bus, agents, library, log });
    own.defer(agents.onChange(() => offers.followAgents()));
    own.defer(bus.onRestored(() => offers.rebuild()));
    const resets = bus.on('skill:registry_reset', ({ tenant, payload }) => void offers.refresh(tenant, payload.agentId ?? SHARED_OWNER));
    own.defer(() => resets.unsubscribe());
    await offers.rebuild();
    const egress = own.use(createEgress({ settings: () => settings.current.security }));
    const deps: HandlerDeps = { agents, library, offers, log, now };
    return {
      'skills.list': skillsList(deps),
      'skills.create': skillsCreate(deps),
      'skills.upload': skillsUpload(deps),
      'skills.import': skillsImport(deps, createDownloads(egress, now)),
      'skills.update': skillsUpdate(deps),
      'skills.delete': skillsDelete(deps),
      'skills.use': skillsUse(deps),
      'tools.use': toolsUse(deps),
    };
  },
});
