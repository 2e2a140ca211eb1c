import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { inserted, type Collection, type OutboxEvent } from '@switchyard/store';
import type { SkillDocument, SkillTextDocument } from '../documents/collections.ts';
import type { SkillHead } from '../format/skill-head.ts';
import { SKILL_FILE, type SkillTextFile } from './skill-paths.ts';
import { SHARED_OWNER } from './skill-owner.ts';

/** Skills of one owner. More of them would not help a model to choose. */
export const MAX_SKILLS = 200;
const MAX_READS = 3;
/** Age from which a text that no skill refers to is removed. */
const ABANDONED_MS = 3_600_000;

export interface NewSkill {
  owner: string;
  head: SkillHead;
  files: readonly SkillTextFile[];
  source: SkillDocument['source'];
  url?: string | undefined;
}

/** What happens if a skill of that name exists, or does not exist. */
export type WriteMode = 'create' | 'replace' | 'createOrReplace';

/** The stored skills of all tenants. */
export interface SkillLibrary {
  /** Stores a version of a skill with its events. Throws ALREADY_EXISTS, NOT_FOUND or RESOURCE_EXHAUSTED. */
  write(tenant: string, skill: NewSkill, mode: WriteMode): Promise<SkillDocument>;
  /** Throws NOT_FOUND. */
  delete(tenant: string, owner: string, name: string): Promise<void>;
  find(tenant: string, owner: string, name: string): Promise<SkillDocument | undefined>;
  /** The skills of an agent by name. Its own skills hide shared ones of the same name. */
  list(tenant: string, agentId: string): Promise<SkillDocument[]>;
  /** The files of a skill. Throws NOT_FOUND if it was deleted. */
  readFiles(tenant: string, skill: SkillDocument): Promise<readonly SkillTextFile[]>;
}

export interface SkillLibraryDeps {
  skills: Collection<SkillDocument>;
  texts: Collection<SkillTextDocument>;
  now: () => number;
}

export function createSkillLibrary({ skills, texts, now }: SkillLibraryDeps): SkillLibrary {
  const loadedEvent = ({ name, source }: SkillDocument): OutboxEvent => ({
    name: 'skill:loaded',
    payload: { skillName: name, source, timestamp: now() },
  });
  const resetEvent = (owner: string): OutboxEvent => ({
    name: 'skill:registry_reset',
    payload: { clearedMetadata: 1, clearedPromptCache: 1, ...(owner === SHARED_OWNER ? {} : { agentId: owner }), timestamp: now() },
  });

  async function find(tenant: string, owner: string, name: string): Promise<SkillDocument | undefined> {
    const found = await skills.for({ tenant }).get(skillId(owner, name));
    return found && found.deletedAt === undefined ? found : undefined;
  }

  async function listOwner(tenant: string, owner: string): Promise<SkillDocument[]> {
    const { items } = await skills.for({ tenant }).find({ owner, deletedAt: null }, { sort: [['name', 'asc']], limit: MAX_SKILLS });
    return items;
  }

  async function store(tenant: string, document: SkillDocument, mode: WriteMode): Promise<void> {
    const { id, name } = document;
    const documents = skills.for({ tenant });
    const emit = [loadedEvent(document), resetEvent(document.owner)];
    const stored = await documents.get(id);
    if (stored === null && mode === 'create') {
      if (await inserted(() => documents.insert(document, { emit }))) return;
      throw exists(name);
    }
    // A deleted skill of that name counts as none.
    const guards = { create: { if: { deletedAt: { exists: true } } }, replace: { if: { deletedAt: null } }, createOrReplace: {} };
    if (await documents.replace(document, { emit, ...guards[mode] })) return;
    throw mode === 'create' ? exists(name) : missing(name);
  }

  /** Removes texts of writes that did not end. Newer ones may belong to a write that goes on. */
  async function removeAbandoned(tenant: string, { id, owner, name }: SkillDocument): Promise<void> {
    const current = await find(tenant, owner, name);
    if (!current) return;
    await texts.for({ tenant }).remove({ skillId: id, textId: { ne: current.textId }, createdAt: { lt: now() - ABANDONED_MS } });
  }

  return {
    find,
    async write(tenant, { owner, head, files, source, url }, mode) {
      const { name } = head;
      const known = await find(tenant, owner, name);
      if (known && mode === 'create') throw exists(name);
      if (!known && mode === 'replace') throw missing(name);
      if (!known && (await skills.for({ tenant }).count({ owner, deletedAt: null })) >= MAX_SKILLS) throw full(owner);
      const id = skillId(owner, name);
      const textId = mintId('text');
      const document: SkillDocument = {
        id,
        owner,
        name,
        source,
        ...(url === undefined ? {} : { url }),
        head,
        textId,
        files: files.map(({ path }) => path).filter((path) => path !== SKILL_FILE),
        createdAt: known?.createdAt ?? now(),
        updatedAt: now(),
      };
      await texts.for({ tenant }).insert({ textId, skillId: id, files: [...files], createdAt: now() });
      await store(tenant, document, mode);
      if (known) await texts.for({ tenant }).remove({ textId: known.textId });
      await removeAbandoned(tenant, document);
      return document;
    },
    async delete(tenant, owner, name) {
      const id = skillId(owner, name);
      const deleted = await skills
        .for({ tenant })
        .update({ id, deletedAt: null }, { set: { deletedAt: now() }, emit: [resetEvent(owner)] });
      if (!deleted) throw missing(name);
      await texts.for({ tenant }).remove({ textId: deleted.textId });
    },
    async list(tenant, agentId) {
      const [own, shared] = await Promise.all([listOwner(tenant, agentId), listOwner(tenant, SHARED_OWNER)]);
      const names = new Set(own.map(({ name }) => name));
      return [...own, ...shared.filter(({ name }) => !names.has(name))].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
    async readFiles(tenant, skill) {
      let current: SkillDocument | undefined = skill;
      // Another replica may replace the skill between the two reads.
      for (let read = 0; read < MAX_READS && current !== undefined; read += 1) {
        const text = await texts.for({ tenant }).get(current.textId);
        if (text) return text.files;
        current = await find(tenant, skill.owner, skill.name);
      }
      throw missing(skill.name);
    },
  };
}

function skillId(owner: string, name: string): string {
  return `${owner}/${name}`;
}

function exists(name: string): ServiceError {
  return new ServiceError(
    'ALREADY_EXISTS',
    `The skill ${name} exists. skills.update replaces its text; skills.create with force replaces it whole.`,
  );
}

export function missing(name: string): ServiceError {
  return new ServiceError('NOT_FOUND', `The skill ${name} does not exist. skills.list returns all skills.`);
}

function full(owner: string): ServiceError {
  const whose = owner === SHARED_OWNER ? 'The tenant' : `The agent ${owner}`;
  return new ServiceError('RESOURCE_EXHAUSTED', `${whose} has ${MAX_SKILLS} skills, which is the limit. Delete one first.`, {
    details: { reason: 'TOO_MANY_SKILLS', retryable: false },
  });
}
