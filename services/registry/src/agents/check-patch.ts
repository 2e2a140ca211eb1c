import { AgentConfig, describeIssues, invalidParams, isOperatorOnly, ServiceError, writtenPaths } from '@switchyard/contracts';
import { resolveAgentModel, type Models } from '@switchyard/models';
import { checkReferences } from '../config/check-references.ts';
import { resolveReferences, type ConfigurationSource, type Tree, type Variables } from '@switchyard/service-kit';

const PROBE_SILENCE_MS = 5_000;

export interface PatchGiven {
  models: Models;
  secret: (name: string) => Promise<string | null>;
  configuration: Pick<ConfigurationSource, 'current' | 'pinned'>;
  env: Variables;
}

export interface PatchToCheck {
  tenant: string;
  agentId: string;
  /** The requested change. */
  patch: Tree;
  /** The agent after the change. */
  preview: Tree;
  /** The stored layer before the change. */
  stored?: Tree;
}

/** Returns all errors of a change, in the order in which a user would fix them. Empty if it may be written. */
export async function checkPatch(
  given: PatchGiven,
  { tenant, agentId, patch, preview, stored = {} }: PatchToCheck,
): Promise<ServiceError[]> {
  const refused = writtenPaths(patch, `agents.${agentId}`).flatMap((path) => refusedPath(given, tenant, path));
  if (refused.length > 0) return refused;
  const closed = checkReferences(given.configuration.current.config, stored, patch);
  if (closed.length > 0) return closed;
  const parsed = AgentConfig.safeParse(preview, { reportInput: true });
  if (!parsed.success) return [invalidParams(describeIssues(parsed.error))];
  const meant = AgentConfig.safeParse(resolveReferences(parsed.data, given.env), { reportInput: true });
  if (!meant.success) return [invalidParams(describeIssues(meant.error))];
  return checkAnswers(given, patch, meant.data);
}

/** Checks that the agent's models and profiles work. Only the keys of `patch` are checked. */
export async function checkAnswers(given: Pick<PatchGiven, 'models' | 'secret'>, patch: Tree, meant: AgentConfig): Promise<ServiceError[]> {
  return [...(await checkModel(given, patch, meant)), ...(await checkProfiles(given, patch, meant))];
}

function refusedPath({ configuration }: PatchGiven, tenant: string, path: string): ServiceError[] {
  if (isNeverByRpc(path)) return [refusal('IMMUTABLE', `${path} can only be changed in a file`)];
  if (tenant !== configuration.current.tenantId) return [];
  const pin = configuration.pinned().find((one) => within(path, one.path) || within(one.path, path));
  return pin === undefined ? [] : [refusal('PINNED', `${path} is set by the environment variable ${pin.variable}`)];
}

function within(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}.`);
}

/** Provider and model must be available, and a new provider must accept its key. */
async function checkModel(
  { models }: Pick<PatchGiven, 'models'>,
  patch: Tree,
  { provider, model, modelRoutes }: AgentConfig,
): Promise<ServiceError[]> {
  const changed = ['provider', 'model', 'modelRoutes'].some((key) => patch[key] !== undefined);
  if (!changed || (provider === 'default' && model === 'default' && modelRoutes.default === undefined)) return [];
  if (provider !== 'default' && !(await models.providers()).includes(provider)) {
    return [refusal('PROVIDER_NOT_FOUND', `provider: ${provider} is not available: it is not configured, or its key is not set`)];
  }
  const ref = await resolveAgentModel(models, { provider, model, modelRoutes });
  if (ref === undefined)
    return [refusal('MODEL_NOT_FOUND', `model: no available provider has ${model === 'default' ? (modelRoutes.default ?? model) : model}`)];
  return patch['provider'] === undefined || ref.provider === 'dev' ? [] : probe(models, ref);
}

/** Requests one token. Only a rejected key is an error, because an unreachable provider may recover. */
async function probe(models: Models, model: { provider: string; modelId: string }): Promise<ServiceError[]> {
  const { signal } = new AbortController();
  try {
    const parts = models.stream({
      model,
      messages: [{ role: 'user', text: 'ping' }],
      maxTokens: 1,
      signal,
      promptTimeoutMs: PROBE_SILENCE_MS,
    });
    for await (const part of parts) if (part.type === 'text') break;
  } catch (error) {
    if (error instanceof ServiceError && error.details.reason === 'PROVIDER_AUTH')
      return [refusal('PROVIDER_AUTH', `provider: ${error.message}`)];
  }
  return [];
}

async function checkProfiles({ secret }: Pick<PatchGiven, 'secret'>, patch: Tree, { modelFailover }: AgentConfig): Promise<ServiceError[]> {
  if (patch['modelFailover'] === undefined) return [];
  const names = modelFailover.authProfiles.map(({ keyName }) => keyName);
  const missing = await Promise.all(names.map(async (name) => (await secret(name)) === null));
  return names
    .filter((_, index) => missing[index])
    .map((name) => refusal('SECRET_NOT_FOUND', `modelFailover.authProfiles: the secret ${name} is not set`));
}

function refusal(reason: string, message: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason } });
}
