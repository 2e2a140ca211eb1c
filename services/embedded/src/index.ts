export { runEmbedded } from './embedded.ts';
export { services } from './services.ts';
