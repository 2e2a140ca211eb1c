import type { Ctx } from '@switchyard/bus';
import { scoreInjection } from '@switchyard/security';

/** Publishes an event if text from outside looks like instructions to a model. The text itself stays unchanged. */
export function reportInjection(text: string, ctx: Ctx): void {
  const { risk, patterns } = scoreInjection(text);
  if (patterns.length === 0) return;
  ctx.emit('security:injection_detected', {
    timestamp: Date.now(),
    source: 'external_content',
    patterns,
    riskLevel: risk,
    ...(ctx.principal.agent === undefined ? {} : { agentId: ctx.principal.agent }),
    traceId: ctx.requestId,
  });
}
