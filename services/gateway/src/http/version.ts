/** Of the gateway, as discovery, documents and clients are told it. */
export const VERSION = '0.1.0';
