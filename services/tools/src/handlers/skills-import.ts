import type { Handler } from '@switchyard/bus';
import type { Downloads } from '../import/downloads.ts';
import { readSkillSource } from '../import/skill-source.ts';
import { resolveOwner } from '../skills/skill-owner.ts';
import type { HandlerDeps } from './handler-deps.ts';
import { getSkillPath, writeSkill } from './write-skill.ts';

/** Installs a skill from an address. */
export function skillsImport(deps: HandlerDeps, downloads: Downloads): Handler<'skills.import'> {
  return async ({ url, ...place }, ctx) => {
    // Refuses a wrong agent before anything is downloaded.
    resolveOwner(deps.agents, ctx.principal, place);
    const { files, skippedFiles } = await readSkillSource(url, downloads, ctx.signal);
    const source = describeSource(url);
    const stored = await writeSkill(deps, ctx, { files, field: 'url', url: source, ...place }, 'create');
    if (skippedFiles > 0) ctx.log.info({ skill: stored.name, source, skippedFiles }, 'binary files of an imported skill were left out');
    return { ok: true, path: getSkillPath(stored), name: stored.name, fileCount: files.length };
  };
}

/** Characters of an address that every list of skills includes. */
const MAX_SOURCE_CHARS = 1_024;

/** Returns the address without its query, which can contain a secret. */
function describeSource(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.slice(0, MAX_SOURCE_CHARS);
}
