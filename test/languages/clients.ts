/** A client library, and the program that asks through it. */
export interface Client {
  /** Its name in its registry. */
  name: string;
  language: 'Python' | 'Go';
  version: string;
  /** Its file, or folder, in that of its language. */
  program: string;
  /** Of Python: what is installed with it. */
  beside?: readonly string[];
}

/** Versions of Go's stand in go.mod as well, which a test compares. */
export const CLIENTS: readonly Client[] = [
  { name: 'openai', language: 'Python', version: '3.54.0', program: 'use_openai.py' },
  {
    name: 'langchain-openai',
    language: 'Python',
    version: '1.7.3',
    program: 'use_langchain.py',
    beside: ['openai==3.54.0'],
  },
  {
    name: 'litellm',
    language: 'Python',
    version: '1.106.2',
    program: 'use_litellm.py',
    beside: ['openai==2.54.0', 'mcp==2.3.0'],
  },
  {
    name: 'pydantic-ai-slim[openai]',
    language: 'Python',
    version: '2.68.0',
    program: 'use_pydantic_ai.py',
    beside: ['openai==3.54.0'],
  },
  {
    name: 'openai-agents',
    language: 'Python',
    version: '0.24.0',
    program: 'use_openai_agents.py',
    beside: ['openai==3.54.0'],
  },
  {
    name: 'instructor',
    language: 'Python',
    version: '1.17.0',
    program: 'use_instructor.py',
    beside: ['openai==3.3.0'],
  },
  {
    name: 'llama-index-llms-openai-like',
    language: 'Python',
    version: '0.8.1',
    program: 'use_llama_index.py',
    beside: ['llama-index-core==0.14.25', 'openai==2.54.0'],
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
];

/** What is asked through each client that has such a thing, in the order of the page. */
export const CHECKS = [
  'chat',
  'stream',
  'tools',
  'structured output',
  'embeddings',
  'errors',
  'retries',
  'timeout',
  'cancellation',
  'responses',
  'asynchronous',
  'receipt',
  'receipt of a stream',
] as const;
