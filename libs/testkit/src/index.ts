export { startCollector, type Collector, type ReceivedMetric, type ReceivedSpan } from './collector.ts';
export { healthClient, type HealthClient } from './health-client.ts';
export { makeReplicaSet } from './mongo-admin.ts';
export { findMongo } from './mongo-server-binary.ts';
export { startMongo, startOwnMongo, type MongoServer, type OwnMongoOptions, type OwnMongoServer } from './mongo-server.ts';
export { startNatsServer, type NatsServer, type NatsServerOptions } from './nats-server.ts';
export { findNatsServer } from './nats-server-binary.ts';
export { findRedisServer } from './redis-server-binary.ts';
export { startRedisServer, type RedisServer, type RedisServerOptions } from './redis-server.ts';
export {
  startUpstream,
  type Upstream,
  type UpstreamBehaviour,
  type UpstreamCall,
  type UpstreamRequest,
  type UpstreamUsage,
} from './upstream.ts';
export { principal } from './principal.ts';
export { startProcess, type Exit, type StartedProcess, type StartProcessOptions } from './start-process.ts';
export { tempDir, type TempDir } from './temp-dir.ts';
export { testService, type TestService, type TestServiceOptions } from './test-service.ts';
export { unbounded } from './unbounded.ts';
