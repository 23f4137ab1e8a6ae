/** The parts of OpenAPI 3.1 that this service uses. Schemas are JSON Schema 2020-12, as TypeBox writes it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Reference {
  $ref: string;
}

export interface Example {
  summary?: string;
  description?: string;
  value: unknown;
}

export interface MediaType {
  schema: JsonSchema;
  examples?: Record<string, Example | Reference>;
}

export interface Header {
  description: string;
  schema: JsonSchema;
  required?: boolean;
}

export interface Response {
  description: string;
  headers?: Record<string, Reference>;
  content?: Record<string, MediaType>;
}

export interface Parameter {
  name: string;
  in: 'query' | 'path' | 'header';
  required: boolean;
  description?: string;
  schema: JsonSchema;
  example?: unknown;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Record<string, MediaType> };
  responses: Record<string, Response>;
}

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export interface ApiDocument {
  openapi: '3.1.1';
  info: { title: string; version: string; summary: string; description: string } & JsonSchema;
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  security: Record<string, string[]>[];
  paths: Record<string, Partial<Record<Method, Operation>>>;
  components: {
    securitySchemes: Record<string, JsonSchema>;
    schemas: Record<string, JsonSchema>;
    headers: Record<string, Header>;
    examples: Record<string, Example>;
  };
}
