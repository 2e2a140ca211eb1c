export { runEmbedded } from './embedded.ts';
