/** A client library, and the program that asks through it. */
export interface Client {
  /** Its name in its registry; of a generator for several languages, also the one that it makes. */
  name: string;
  language: 'Python' | 'Go' | 'Java' | 'Rust' | 'TypeScript';
  version: string;
  /** The name of its file, its folder, its class or its crate in the folder of its language. */
  program: string;
  /** Of Python and Java: what is installed with it. */
  beside?: readonly string[];
  /** What makes a client of the service's own description, through which the program asks. */
  generator?: 'openapi-python-client' | 'openapi-generator';
}

/** Where the program of a client stands. */
export function sourceOf({ language, program }: Pick<Client, 'language' | 'program'>): string {
  return {
    Python: `python/${program}.py`,
    Go: `go/${program}/main.go`,
    Java: `java/${program}.java`,
    Rust: 'rust/src/main.rs',
    TypeScript: `typescript/${program}.ts`,
  }[language];
}

/** In Maven's registry as org.openapitools:openapi-generator-cli. */
const OPENAPI_GENERATOR = '7.25.0';

/** Versions of Go's and Rust's stand in go.mod and Cargo.toml as well, which a test compares. */
export const CLIENTS: readonly Client[] = [
  { name: 'openai', language: 'Python', version: '3.54.0', program: 'use_openai' },
  { name: 'anthropic', language: 'Python', version: '2.14.0', program: 'use_anthropic' },
  {
    name: 'langchain-openai',
    language: 'Python',
    version: '1.7.3',
    program: 'use_langchain',
    beside: ['openai==3.54.0'],
  },
  {
    name: 'litellm',
    language: 'Python',
    version: '1.106.2',
    program: 'use_litellm',
    beside: ['openai==2.54.0', 'mcp==2.3.0'],
  },
  {
    name: 'pydantic-ai-slim[openai]',
    language: 'Python',
    version: '2.68.0',
    program: 'use_pydantic_ai',
    beside: ['openai==3.54.0'],
  },
  {
    name: 'openai-agents',
    language: 'Python',
    version: '0.24.0',
    program: 'use_openai_agents',
    beside: ['openai==3.54.0'],
  },
  {
    name: 'instructor',
    language: 'Python',
    version: '1.17.0',
    program: 'use_instructor',
    beside: ['openai==3.3.0'],
  },
  {
    name: 'llama-index-llms-openai-like',
    language: 'Python',
    version: '0.8.1',
    program: 'use_llama_index',
    beside: ['llama-index-core==0.14.25', 'openai==2.54.0'],
  },
  {
    name: 'llm',
    language: 'Python',
    version: '0.36',
    program: 'use_llm',
    beside: ['openai==3.54.0'],
  },
  {
    name: 'dspy',
    language: 'Python',
    version: '3.4.1',
    program: 'use_dspy',
    beside: ['litellm==1.106.2', 'openai==2.54.0', 'mcp==2.3.0', 'numpy==2.4.6'],
  },
  {
    name: 'github.com/openai/openai-go/v3',
    language: 'Go',
    version: 'v3.96.0',
    program: 'use_openai_go',
  },
  {
    name: 'github.com/sashabaranov/go-openai',
    language: 'Go',
    version: 'v1.43.0',
    program: 'use_go_openai',
  },
  { name: 'com.openai:openai-java', language: 'Java', version: '4.101.0', program: 'UseOpenai' },
  {
    name: 'dev.langchain4j:langchain4j-open-ai',
    language: 'Java',
    version: '1.19.0',
    program: 'UseLangchain4j',
    beside: ['org.slf4j:slf4j-nop:2.0.17'],
  },
  {
    name: 'org.springframework.ai:spring-ai-openai',
    language: 'Java',
    version: '2.0.1',
    program: 'UseSpringAi',
    // Maven takes the annotations of openai-java, which are too old for Spring.
    beside: [
      'com.openai:openai-java:4.49.0',
      'com.fasterxml.jackson.core:jackson-annotations:2.22',
      'org.slf4j:slf4j-nop:2.0.17',
    ],
  },
  { name: 'opencode-ai', language: 'TypeScript', version: '1.18.33', program: 'use_opencode' },
  { name: 'async-openai', language: 'Rust', version: '0.43.0', program: 'docket-clients' },
  {
    name: 'openapi-python-client',
    language: 'Python',
    version: '0.29.1',
    program: 'use_openapi_python_client',
    generator: 'openapi-python-client',
  },
  {
    name: 'openapi-generator python',
    language: 'Python',
    version: OPENAPI_GENERATOR,
    program: 'use_openapi_generator',
    beside: ['pydantic==2.14.3', 'python-dateutil==4.0.0', 'urllib3==2.8.0'],
    generator: 'openapi-generator',
  },
  {
    name: 'openapi-generator java',
    language: 'Java',
    version: OPENAPI_GENERATOR,
    program: 'UseOpenapiGenerator',
    beside: [
      'com.squareup.okhttp3:logging-interceptor:4.12.0',
      'com.google.code.gson:gson:2.13.2',
      'io.gsonfire:gson-fire:1.9.0',
      'org.apache.commons:commons-lang3:3.17.0',
      'org.openapitools:jackson-databind-nullable:0.2.11',
      'jakarta.annotation:jakarta.annotation-api:1.3.5',
      'com.google.code.findbugs:jsr305:3.0.2',
      'com.fasterxml.jackson.core:jackson-databind:2.22.1',
    ],
    generator: 'openapi-generator',
  },
];

/** What is asked through each client that has such a thing, in the order of the page. */
export const CHECKS = [
  'chat',
  'stream',
  'counts',
  'tools',
  'structured output',
  'embeddings',
  'errors',
  'over the window',
  'retries',
  'timeout',
  'cancellation',
  'responses',
  'asynchronous',
  'keys',
  'receipt',
  'receipt of a stream',
] as const;
