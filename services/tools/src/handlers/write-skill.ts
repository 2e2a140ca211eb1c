import { invalidParams, ServiceError } from '@switchyard/contracts';
import type { Ctx } from '@switchyard/bus';
import { scanSkill } from '../format/content-scan.ts';
import type { SkillDocument } from '../documents/collections.ts';
import type { WriteMode } from '../skills/skill-library.ts';
import { checkFiles, getSkillText, type SkillTextFile } from '../skills/skill-paths.ts';
import { resolveOwner, SHARED_OWNER } from '../skills/skill-owner.ts';
import type { HandlerDeps } from './handler-deps.ts';

export interface WrittenSkill {
  /** The name that the caller expects; SKILL.md must have the same. */
  name?: string | undefined;
  files: readonly SkillTextFile[];
  scope: 'local' | 'shared';
  agentId?: string | undefined;
  url?: string | undefined;
  /** Parameter that errors name. */
  field: string;
}

/** Validates, scans and stores a skill, and offers it to its agents before it returns. */
export async function writeSkill(deps: HandlerDeps, ctx: CallContext, skill: WrittenSkill, mode: WriteMode): Promise<SkillDocument> {
  const { agents, library, offers, log } = deps;
  const { name, files, field, url } = skill;
  const { principal } = ctx;
  const { tenant, client } = principal;
  const owner = resolveOwner(agents, principal, skill);
  checkFiles(files);
  // Loads the YAML library on its first use.
  const { parseSkillFile } = await import('../format/skill-file.ts');
  const { head } = parseSkillFile(getSkillText(files), field);
  if (name !== undefined && head.name !== name) {
    const message = `name: expected ${head.name}, the name in SKILL.md, got ${name}`;
    throw invalidParams([{ path: 'name', expected: head.name, received: name, message }]);
  }
  await refuseHarmful(deps, ctx, { name: head.name, owner, files });
  const document = await library.write(tenant, { owner, head, files, source: url === undefined ? 'local' : 'imported', url }, mode);
  log.audit({ client, tenant, skill: head.name, owner, mode }, 'a skill was stored');
  await offers.refresh(tenant, owner);
  return document;
}

/** Path of a skill in answers. */
export function getSkillPath({ name }: Pick<SkillDocument, 'name'>): string {
  return `skills/${name}`;
}

/** The caller, and its events. */
export type CallContext = Pick<Ctx, 'principal' | 'emit'>;

interface ScannedSkill {
  name: string;
  owner: string;
  files: readonly SkillTextFile[];
}

/** Throws FAILED_PRECONDITION for a critical finding, unless the settings of the agent say otherwise. */
async function refuseHarmful({ agents, log, now }: HandlerDeps, ctx: CallContext, { name, owner, files }: ScannedSkill): Promise<void> {
  const { tenant, client } = ctx.principal;
  const agent = owner === SHARED_OWNER ? agents.default(tenant) : agents.find(tenant, owner);
  const { enabled = true, blockOnCritical = true } = agent?.config.skills.contentScanning ?? {};
  const findings = enabled ? await scanSkill(files) : [];
  const critical = findings.filter(({ severity }) => severity === 'critical');
  for (const { rule, severity, path } of findings)
    log.warn({ client, tenant, skill: name, rule, severity, path }, 'the content scan reported a skill');
  if (critical.length === 0 || !blockOnCritical) return;
  const violations = [...new Set(critical.map(({ rule }) => rule))];
  ctx.emit('skill:rejected', { skillName: name, reason: 'content_scan', violations, timestamp: now() });
  const places = critical.map(({ rule, path }) => `${rule} in ${path}`).join(', ');
  throw new ServiceError(
    'FAILED_PRECONDITION',
    `The content scan rejected the skill ${name}: ${places}. Remove these parts and send it again.`,
    {
      details: { reason: 'CONTENT_SCAN', violations },
    },
  );
}
