import { z } from 'zod';

const Providers = z.strictObject({ entries: z.record(z.string(), z.unknown()).default({}) });

/** Every section of the configuration (facts, Appendix A), by name. */
export const sections = {
  providers: Providers,
};

/** The whole configuration, with defaults filled in. */
export type Sections = { [N in keyof typeof sections]: z.output<(typeof sections)[N]> };
