import { runEmbedded } from './embedded.ts';

await runEmbedded(process.env);
