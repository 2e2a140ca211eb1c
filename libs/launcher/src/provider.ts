/** A model that clients may ask for, by whoever brings it. */
export interface VisibleModel {
  id: string;
  ownedBy: string;
}

const DEV = 'dev';

/** Which models answer, in a line; `again` starts it with a key. The development model is called what it is. */
export function describeProvider(models: readonly VisibleModel[], again: string): string {
  const dev = models.filter(({ ownedBy }) => ownedBy === DEV).map(({ id }) => id);
  if (dev.length > 0) return `dev  (development models, offline: ${dev.join(' ')})   add a real one: OPENAI_API_KEY=… ${again}`;
  const real = models.filter(({ id }) => id.includes('/')).map(({ id }) => id);
  return real.join(' ');
}
