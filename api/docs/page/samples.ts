import type { ApiDocument, Example, Method, Operation, Parameter } from '../document-shape.ts';

/** What a sample sends. */
export interface Call {
  method: string;
  url: string;
  headers: [name: string, value: string][];
  hasKey: boolean;
  /** Takes an Idempotency-Key, which each run makes anew: a fixed one would refuse a sample after that of another language. */
  isRepeatable: boolean;
  body: unknown;
  /** The name of a file for an answer that is no text. */
  file: string | undefined;
}

export interface Sample {
  language: string;
  code: string;
}

/** How the operation is called in each language, with nothing installed beside it. The key comes from the environment. */
export function samplesOf(
  document: ApiDocument,
  method: Method,
  path: string,
  operation: Operation,
): Sample[] {
  return codeOf(callOf(document, method, path, operation));
}

/** The same of any call. Browsers run this too. */
export function codeOf(call: Call): Sample[] {
  return [
    { language: 'curl', code: curl(call) },
    { language: 'Python', code: python(call) },
    { language: 'TypeScript', code: typescript(call) },
    { language: 'Go', code: go(call) },
  ];
}

function callOf(document: ApiDocument, method: Method, path: string, operation: Operation): Call {
  const { parameters = [], requestBody, security, responses } = operation;
  const wanted = (place: Parameter['in']): [string, string][] =>
    parameters.flatMap((one) =>
      one.in === place && one.required ? [[one.name, exampleOf(one)] as [string, string]] : [],
    );
  const query = new URLSearchParams(wanted('query')).toString();
  const filled = wanted('path').reduce(
    (url, [name, value]) => url.replace(`{${name}}`, value.replaceAll(/[?#]/g, encodeURIComponent)),
    path,
  );
  const [request] = Object.values(requestBody?.content['application/json']?.examples ?? {});
  const types = Object.keys(responses['200']?.content ?? {});
  return {
    method: method.toUpperCase(),
    url: `${document.servers[0]!.url}${filled}${query === '' ? '' : `?${query}`}`,
    headers: [
      ...wanted('header'),
      ...(requestBody === undefined
        ? []
        : [['Content-Type', 'application/json'] as [string, string]]),
    ],
    hasKey: security.length > 0,
    isRepeatable: parameters.some(({ name }) => name === 'Idempotency-Key'),
    body: requestBody === undefined ? undefined : ((request as Example | undefined)?.value ?? {}),
    file: types.includes('application/zip') ? 'pack.zip' : undefined,
  };
}

function exampleOf({ example, schema }: Parameter): string {
  const {
    examples,
    default: otherwise,
    minimum,
  } = schema as {
    examples?: unknown[];
    default?: unknown;
    minimum?: unknown;
  };
  const value = example ?? examples?.[0] ?? otherwise ?? minimum ?? '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function curl({ method, url, headers, hasKey, isRepeatable, body, file }: Call): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return [
    `curl -s ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    ...(hasKey ? ['-H "Authorization: Bearer $DOCKET_API_KEY"'] : []),
    ...(isRepeatable ? ['-H "Idempotency-Key: $(date +%s)-$$"'] : []),
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(JSON.stringify(body, null, 2))}`]),
    ...(file === undefined ? [] : [`-o ${file}`]),
  ].join(' \\\n  ');
}

function python({ method, url, headers, hasKey, isRepeatable, body, file }: Call): string {
  const key = `    "Authorization": f"Bearer {os.environ['DOCKET_API_KEY']}",`;
  const lines = headers.map(([name, value]) => `    ${text(name)}: ${text(value)},`);
  const modules = [
    ...(body === undefined ? [] : ['json']),
    ...(hasKey ? ['os'] : []),
    'sys',
    'urllib.error',
    'urllib.request',
    ...(isRepeatable ? ['uuid'] : []),
  ];
  return [
    ...modules.map((name) => `import ${name}`),
    '',
    `headers = {`,
    ...(hasKey ? [key] : []),
    ...(isRepeatable ? ['    "Idempotency-Key": str(uuid.uuid4()),'] : []),
    ...lines,
    '}',
    ...(body === undefined ? [] : [`body = ${pythonValue(body)}`]),
    'request = urllib.request.Request(',
    `    ${text(url)},`,
    `    method=${text(method)},`,
    '    headers=headers,',
    ...(body === undefined ? [] : ['    data=json.dumps(body).encode(),']),
    ')',
    'try:',
    '    with urllib.request.urlopen(request) as answer:',
    ...(file === undefined
      ? ['        print(answer.read().decode())']
      : [
          `        with open(${text(file)}, "wb") as file:`,
          '            file.write(answer.read())',
        ]),
    'except urllib.error.HTTPError as error:',
    '    sys.exit(error.read().decode())',
  ].join('\n');
}

/** JSON text of a string is a string in Python, TypeScript and Go as well. */
const text = (value: string): string => JSON.stringify(value);

function pythonValue(value: unknown, indent = ''): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inside = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((one) => pythonValue(one, inside))
    : Object.entries(value).map(([name, one]) => `${text(name)}: ${pythonValue(one, inside)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  if (items.length === 0) return `${open}${close}`;
  return `${open}\n${items.map((one) => `${inside}${one},\n`).join('')}${indent}${close}`;
}

function typescript({ method, url, headers, hasKey, isRepeatable, body, file }: Call): string {
  const lines = [
    ...(hasKey ? ['    Authorization: `Bearer ${env.DOCKET_API_KEY}`,'] : []),
    ...(isRepeatable ? ['    "Idempotency-Key": crypto.randomUUID(),'] : []),
    ...headers.map(([name, value]) => `    ${text(name)}: ${text(value)},`),
  ];
  const imports = [
    ...(file === undefined ? [] : ["import { writeFile } from 'node:fs/promises';"]),
    ...(hasKey ? ["import { env } from 'node:process';"] : []),
  ];
  return [
    ...imports,
    ...(imports.length === 0 ? [] : ['']),
    `const answer = await fetch(${text(url)}, {`,
    `  method: ${text(method)},`,
    ...(lines.length === 0 ? [] : ['  headers: {', ...lines, '  },']),
    ...(body === undefined
      ? []
      : [`  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),`]),
    '});',
    'if (!answer.ok) throw new Error(await answer.text());',
    file === undefined
      ? 'console.log(await answer.text());'
      : `await writeFile(${text(file)}, await answer.bytes());`,
  ].join('\n');
}

function go({ method, url, headers, hasKey, isRepeatable, body, file }: Call): string {
  const json = body === undefined ? undefined : JSON.stringify(body, null, 2);
  // A raw string holds everything but its own mark.
  const literal = json?.includes('`') === true ? text(json) : `\`${json}\``;
  const imports = [
    ...(isRepeatable ? ['crypto/rand'] : []),
    ...(file === undefined ? ['fmt', 'io'] : ['io']),
    'log',
    'net/http',
    ...(hasKey || file !== undefined ? ['os'] : []),
    ...(json === undefined ? [] : ['strings']),
  ];
  return [
    'package main',
    '',
    'import (',
    ...imports.map((name) => `\t${text(name)}`),
    ')',
    '',
    'func main() {',
    `\trequest, err := http.NewRequest(${text(method)}, ${text(url)}, ${json === undefined ? 'nil' : `strings.NewReader(${literal})`})`,
    ...GO_FAILS,
    ...(hasKey
      ? ['\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("DOCKET_API_KEY"))']
      : []),
    ...(isRepeatable ? ['\trequest.Header.Set("Idempotency-Key", rand.Text())'] : []),
    ...headers.map(([name, value]) => `\trequest.Header.Set(${text(name)}, ${text(value)})`),
    '\tanswer, err := http.DefaultClient.Do(request)',
    ...GO_FAILS,
    '\tdefer answer.Body.Close()',
    ...(file === undefined
      ? ['\tcontent, err := io.ReadAll(answer.Body)', ...GO_FAILS, '\tfmt.Println(string(content))']
      : [
          `\tfile, err := os.Create(${text(file)})`,
          ...GO_FAILS,
          '\tdefer file.Close()',
          '\tif _, err := io.Copy(file, answer.Body); err != nil {',
          '\t\tlog.Fatal(err)',
          '\t}',
        ]),
    '}',
  ].join('\n');
}

const GO_FAILS = ['\tif err != nil {', '\t\tlog.Fatal(err)', '\t}'];
