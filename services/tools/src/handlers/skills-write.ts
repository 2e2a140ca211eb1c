import type { Handler } from '@switchyard/bus';
import { SKILL_FILE } from '../skills/skill-paths.ts';
import { missing } from '../skills/skill-library.ts';
import { resolveOwner } from '../skills/skill-owner.ts';
import type { HandlerDeps } from './handler-deps.ts';
import { getSkillPath, writeSkill } from './write-skill.ts';

/** Creates a skill from the text of its SKILL.md. */
export function skillsCreate(deps: HandlerDeps): Handler<'skills.create'> {
  return async ({ name, content, force, ...place }, ctx) => {
    const skill = { name, files: [{ path: SKILL_FILE, content }], field: 'content', ...place };
    const stored = await writeSkill(deps, ctx, skill, force ? 'createOrReplace' : 'create');
    return { ok: true, path: getSkillPath(stored), name };
  };
}

/** Stores a skill with all its files. */
export function skillsUpload(deps: HandlerDeps): Handler<'skills.upload'> {
  return async ({ name, files, ...place }, ctx) => {
    const stored = await writeSkill(deps, ctx, { name, files, field: 'files', ...place }, 'create');
    return { ok: true, path: getSkillPath(stored) };
  };
}

/** Replaces SKILL.md; the other files of the skill stay. */
export function skillsUpdate(deps: HandlerDeps): Handler<'skills.update'> {
  return async ({ name, content, ...place }, ctx) => {
    const { agents, library } = deps;
    const { tenant } = ctx.principal;
    const known = await library.find(tenant, resolveOwner(agents, ctx.principal, place), name);
    if (!known) throw missing(name);
    const others = (await library.readFiles(tenant, known)).filter(({ path }) => path !== SKILL_FILE);
    const skill = { name, files: [{ path: SKILL_FILE, content }, ...others], field: 'content', url: known.url, ...place };
    await writeSkill(deps, ctx, skill, 'replace');
    return { ok: true, name };
  };
}

/** Deletes a skill with its files. */
export function skillsDelete(deps: HandlerDeps): Handler<'skills.delete'> {
  return async ({ name, ...place }, { principal }) => {
    const { agents, library, offers, log } = deps;
    const { tenant, client } = principal;
    const owner = resolveOwner(agents, principal, place);
    await library.delete(tenant, owner, name);
    log.audit({ client, tenant, skill: name, owner }, 'a skill was deleted');
    await offers.refresh(tenant, owner);
    return { ok: true };
  };
}
