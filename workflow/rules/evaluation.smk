"""Every run is evaluated at its marks while it trains; here the records of a target are gathered and checked."""


rule evaluation:
    input:
        records_of,
    output:
        below("{scale}", "evaluation/{target}.json"),
    log:
        below("{scale}", "logs/evaluation/{target}.log"),
    conda:
        ENVIRONMENT
    script:
        "../scripts/gather.py"
