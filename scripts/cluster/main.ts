import { runCluster } from './run-cluster.ts';

await runCluster(process.env);
