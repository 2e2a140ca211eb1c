import type { Handler } from '@switchyard/bus';
import type { PaidJobs } from '../jobs/paid-jobs.ts';
import type { SpokenFile } from '../speech/speech-file.ts';

export function ttsSynthesize(jobs: PaidJobs): Handler<'tts.synthesize'> {
  return async ({ text, voice, format, idempotencyKey }, ctx) => {
    const channel = findChannel(ctx.principal.session);
    const params = Object.fromEntries(Object.entries({ text, voice, format, channel }).filter(([, value]) => value !== undefined));
    return (await jobs.run('speech', params, { ctx, idempotencyKey })) as unknown as SpokenFile;
  };
}

/** The channel of a session key: `[agent:<id>:]<tenant>:<user>:<channel>…`. */
function findChannel(sessionKey: string | undefined): string | undefined {
  const parts = sessionKey?.replace(/^agent:[^:]+:/, '').split(':');
  return parts?.[2];
}
