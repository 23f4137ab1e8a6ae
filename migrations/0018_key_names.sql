-- Keys are renamed by people; what a key is called is in nothing that is signed.
grant update (name) on api_key to docket_api, docket_operator;
