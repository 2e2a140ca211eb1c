export { describeExposure } from './admission/exposure.ts';
export { defineGateway, gateway, type GatewayHooks } from './service.ts';
