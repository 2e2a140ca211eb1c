/** A model that clients may request, and its owner. */
export interface VisibleModel {
  id: string;
  ownedBy: string;
}

const DEV = 'dev';

/** Renders the available models in one line. `restartCommand` starts the product with a provider key. */
export function describeProvider(models: readonly VisibleModel[], again: string): string {
  const dev = models.filter(({ ownedBy }) => ownedBy === DEV).map(({ id }) => id);
  if (dev.length > 0) return `dev  (development models, offline: ${dev.join(' ')})   add a real one: OPENAI_API_KEY=… ${again}`;
  const real = models.filter(({ id }) => id.includes('/')).map(({ id }) => id);
  return real.join(' ');
}
