import type { z } from 'zod';

/** Gives each field its first name. A field that came under two of its names is refused, because one value would be lost. */
export function resolveAliases(
  value: Readonly<Record<string, unknown>>,
  aliases: Readonly<Record<string, readonly string[]>>,
  ctx: z.core.$RefinementCtx,
): Record<string, unknown> {
  const folded: Record<string, unknown> = { ...value };
  for (const [name, others] of Object.entries(aliases)) {
    for (const other of others) {
      const options = folded[other];
      delete folded[other];
      if (options === undefined) continue;
      if (folded[name] !== undefined) {
        ctx.addIssue({ code: 'custom', path: [other], message: `only one of ${[name, ...others].join(', ')}`, input: options });
      }
      folded[name] = options;
    }
  }
  return folded;
}
