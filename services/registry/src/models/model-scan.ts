import { resolveAgentModel, type ModelRef, type Models } from '@switchyard/models';
import type { Settings } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import type { Agents } from '../agents/agents.ts';
import type { ValidatedModels } from './validated-models.ts';

const SCAN_CONCURRENCY = 4;

interface ModelScanDeps {
  agents: Pick<Agents, 'all'>;
  models: Models;
  settings: Settings<'models'>;
  validated: ValidatedModels;
  log: Pick<Logger, 'info' | 'warn'>;
}

/**
 * With `models.scanOnStartup`: sends a tiny request to each model that an agent uses, including its fallback models, within
 * `models.scanTimeoutMs`. Other models of the catalogue are skipped to save cost. Runs in the background.
 */
export function startModelScan(deps: ModelScanDeps): AsyncDisposable {
  const { scanOnStartup, scanTimeoutMs } = deps.settings.current.models;
  const stop = new AbortController();
  const deadline = AbortSignal.any([stop.signal, AbortSignal.timeout(scanTimeoutMs)]);
  const scanning = scanOnStartup
    ? scan(deps, deadline).catch((err: unknown) => {
        deps.log.warn({ err, errorKind: 'dependency', hint: 'use models.test for a single model' }, 'failed to test the models of agents');
      })
    : undefined;
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await scanning;
    },
  };
}

async function scan({ agents, models, validated, log }: ModelScanDeps, signal: AbortSignal): Promise<void> {
  const pending = await listAgentModels(await agents.all(), models);
  const [answered, silent]: string[][] = [[], []];
  const next = async (): Promise<void> => {
    for (let model = pending.shift(); model && !signal.aborted; model = pending.shift()) {
      const outcome = await untilAborted(validated.test(models, model), signal);
      if (outcome) (outcome.ok ? answered : silent)?.push(formatModelName(model));
    }
  };
  await Promise.all(Array.from({ length: SCAN_CONCURRENCY }, next));
  log.info({ answered, silent, notAsked: pending.map(formatModelName) }, 'the models of agents were tested');
}

/** The distinct models of the agents. Models that cannot be resolved are skipped. */
async function listAgentModels(agents: Awaited<ReturnType<Agents['all']>>, models: Models): Promise<ModelRef[]> {
  const all = new Map<string, ModelRef>();
  for (const { config } of agents) {
    const own = await resolveAgentModel(models, config).catch(() => undefined);
    for (const model of [...(own ? [own] : []), ...config.modelFailover.fallbackModels]) all.set(formatModelName(model), model);
  }
  return [...all.values()];
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  signal.addEventListener('abort', () => resolve(undefined), { once: true });
  return Promise.race([work, promise]);
}

function formatModelName({ provider, modelId }: ModelRef): string {
  return `${provider}/${modelId}`;
}
