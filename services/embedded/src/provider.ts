import type { Bus } from '@switchyard/bus';
import { servicePrincipal } from '@switchyard/contracts';

const DEV = 'dev';

/** Which models answer, in a line. The development model is called what it is. */
export async function describeProvider(bus: Bus, tenant: string): Promise<string> {
  const { models } = await bus.as(servicePrincipal('gateway', tenant)).call('models.visible', {});
  const dev = models.filter(({ ownedBy }) => ownedBy === DEV).map(({ id }) => id);
  if (dev.length > 0) return `dev  (development models, offline: ${dev.join(' ')})   add a real one: OPENAI_API_KEY=… make start`;
  const real = models.filter(({ id }) => id.includes('/')).map(({ id }) => id);
  return real.join(' ');
}
