export { describeExposure } from './auth/network-exposure.ts';
export { defineGateway, gateway, type GatewayHooks } from './service.ts';
