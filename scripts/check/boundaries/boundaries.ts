import { cruise, type ICruiseResult } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { options, rules } from './boundary-rules.ts';

/** Returns the broken rules of this checkout, one line each, and the number of modules read. */
export async function cruiseRepository(): Promise<{ violations: string[]; totalCruised: number }> {
  const { output } = await cruise(
    ['libs', 'services', 'scripts/cluster'],
    {
      ...options,
      exclude: { path: 'fixtures/' },
      tsConfig: { fileName: 'tsconfig.json' },
      validate: true,
      ruleSet: { forbidden: [...rules] },
    },
    undefined,
    { tsConfig: extractTSConfig('tsconfig.json') },
  );
  const { violations, totalCruised } = (output as ICruiseResult).summary;
  return { violations: violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`), totalCruised };
}
